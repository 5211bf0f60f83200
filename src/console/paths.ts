/**
 * The console's own addresses, for modules without a request, such as the scripts.
 */
export const CONSOLE_PATH = '/console';
/** The search over everything. */
export const SEARCH_PATH = `${CONSOLE_PATH}/search`;
/** Tells a script whether its session has ended, and the CSRF token for its forms. */
export const SESSION_PATH = `${CONSOLE_PATH}/session`;
