/**
 * The console's own addresses, for modules without a request, such as the scripts.
 */
export const CONSOLE_PATH = '/console';
/** The search over everything. */
export const SEARCH_PATH = `${CONSOLE_PATH}/search`;
/** Answers a script with the CSRF token for its forms, if its session has not ended. */
export const SESSION_PATH = `${CONSOLE_PATH}/session`;
