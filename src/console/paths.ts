/**
 * The console's own addresses, for what knows nothing of requests: the scripts.
 */
export const CONSOLE_PATH = '/console';
/** The search over everything. */
export const SEARCH_PATH = `${CONSOLE_PATH}/search`;
