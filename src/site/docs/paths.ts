/**
 * Addresses of the pages of the API reference.
 */

export const DOCS_PATH = '/docs';
export const ERRORS_PATH = `${DOCS_PATH}/errors`;
export const SCHEMAS_PATH = `${DOCS_PATH}/schemas`;
const GUIDES_PATH = `${DOCS_PATH}/guides`;

export function operationPath(operationId: string): string {
  return `${DOCS_PATH}/${operationId}`;
}

export function schemaPath(name: string): string {
  return `${SCHEMAS_PATH}/${name}`;
}

/** The page of a document in `docs/`, by its name without an ending. */
export function guidePath(name: string): string {
  return name === 'errors' ? ERRORS_PATH : `${GUIDES_PATH}/${name}`;
}

export function toAnchor(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}
