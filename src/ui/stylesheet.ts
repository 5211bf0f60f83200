/**
 * The stylesheet of all pages, served by the service itself. Colors follow the reader's setting, light or dark, unless
 * the page sets a theme. No page scrolls horizontally from 360 pixels up.
 */
import { contentHash } from '../platform/content-hash.ts';
import { FONT_FACE } from './font.ts';
import { COMPONENT_STYLES } from './styles/components.ts';
import { FIGURE_STYLES } from './styles/figures.ts';
import { FORCED_COLOR_STYLES } from './styles/forced-colors.ts';
import { FOUNDATION_STYLES } from './styles/foundation.ts';
import { TABLE_STYLES } from './styles/tables.ts';

export const STYLESHEET = [
  FONT_FACE,
  FOUNDATION_STYLES,
  COMPONENT_STYLES,
  TABLE_STYLES,
  FIGURE_STYLES,
  FORCED_COLOR_STYLES,
].join('\n');

/** The address contains a hash of the content, so that browsers can cache it forever. */
export const STYLESHEET_PATH = `/assets/page-${contentHash(STYLESHEET)}.css`;
export const ICON_PATH = '/assets/icon.svg';

/** The icon: a gauge. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bea"/><path d="M7 21a9 9 0 0 1 18 0" fill="none" stroke="#fff" stroke-opacity=".45" stroke-width="3.5" stroke-linecap="round"/><path d="M7 21a9 9 0 0 1 12.4-8.3" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/><circle cx="16" cy="21" r="2.6" fill="#fff"/></svg>`;
