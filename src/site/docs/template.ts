/**
 * The placeholders in the pages of the API reference for facts that only a request knows. The pages are made once, when
 * the Worker is bundled, and served as files.
 */

/** The server's address, to which examples send their requests. */
export const ORIGIN = 'https://origin.invalid';
/** On the search page: the searched text, and the results. */
export const QUERY = '@@QUERY@@';
export const RESULTS = '@@RESULTS@@';

/** The files of pages without an address of their own. */
export const SEARCH_FILE = '/docs/search.html';
export const NOT_FOUND_FILE = '/docs/not-found.html';
export const INDEX_FILE = '/docs/search.json';
