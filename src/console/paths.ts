/**
 * The console's own addresses, for what knows nothing of requests: the scripts.
 */
export const CONSOLE_PATH = '/console';
/** The search over everything. */
export const SEARCH_PATH = `${CONSOLE_PATH}/search`;
/** Answers a script whether its session still lives, with the CSRF token of its forms. */
export const SESSION_PATH = `${CONSOLE_PATH}/session`;
