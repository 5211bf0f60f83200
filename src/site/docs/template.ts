/**
 * What the pages of the API reference contain in place of what is known at a request alone. They are made once, when the
 * Worker is bundled, and served as files.
 */

/** The address of the server: what examples send their requests to. */
export const ORIGIN = 'https://origin.invalid';
/** In the page of a search: what was searched for, and what was found. */
export const QUERY = '@@QUERY@@';
export const RESULTS = '@@RESULTS@@';

/** Where the pages that are no page of their own stand. */
export const SEARCH_FILE = '/docs/search.html';
export const NOT_FOUND_FILE = '/docs/not-found.html';
export const INDEX_FILE = '/docs/search.json';
