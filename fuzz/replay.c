/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * Runs a fuzz target over files, without libFuzzer: replay PATH...
 *
 * A folder stands for the files in it, in the order of their names. Each name is printed before its
 * run, so the last one printed is the one that failed. Exit status 2 where a path cannot be read or
 * a folder is empty: no run must not pass for a good one.
 */
#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 20)

/** The file's bytes; NULL, and a message, where it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = file ? malloc(INPUT_MAX) : NULL;
    *size = data ? fread(data, 1, INPUT_MAX, file) : 0;
    const bool whole = data && feof(file) && !ferror(file);
    if (file)
        fclose(file);
    if (whole)
        return data;
    fprintf(stderr, "replay: %s: cannot be read, or has 1 MiB or more\n", path);
    free(data);
    return NULL;
}

static bool run_file(const char *path)
{
    size_t size;
    uint8_t *data = read_file(path, &size);
    if (!data)
        return false;
    printf("%s\n", path);
    fflush(stdout);
    /* A block of its very size, so that a sanitizer sees a read past the end. */
    uint8_t *input = malloc(size > 0 ? size : 1);
    if (input) {
        memcpy(input, data, size);
        LLVMFuzzerTestOneInput(input, size);
    }
    free(data);
    free(input);
    return input != NULL;
}

static int is_no_dot_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool run_folder(const char *folder)
{
    struct dirent **entry;
    const int count = scandir(folder, &entry, is_no_dot_file, alphasort);
    bool good = count > 0;
    if (!good)
        fprintf(stderr, "replay: %s: no file in it\n", folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        good = good && run_file(path);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    return good;
}

int main(int argc, char **argv)
{
    bool good = argc > 1;
    if (!good)
        fprintf(stderr, "replay: name files, or folders of them\n");
    for (int i = 1; i < argc && good; i++) {
        struct stat status;
        const bool folder = stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode);
        good = folder ? run_folder(argv[i]) : run_file(argv[i]);
    }
    return good ? 0 : 2;
}
