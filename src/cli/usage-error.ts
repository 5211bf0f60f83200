/**
 * The error of a command line that is wrong. Commands exit with 2 for it, because nothing was done; with 1 otherwise.
 */

/** The command line is wrong; nothing was sent. */
export class UsageError extends Error {}

/** Also for what `parseArgs` refuses. The code of an error may be a number, such as the exit code of a program. */
export function isUsageError(error: Error & { code?: unknown }): boolean {
  return error instanceof UsageError || String(error.code).startsWith('ERR_PARSE_ARGS');
}
