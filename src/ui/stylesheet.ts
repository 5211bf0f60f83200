/**
 * The stylesheet of every page: one file, served from the service itself. Colours follow the reader's own setting,
 * light or dark, unless the page names a theme. From 360 pixels up nothing scrolls sideways.
 */
import { contentHash } from '../platform/content-hash.ts';
import { COMPONENT_STYLES } from './styles/components.ts';
import { FIGURE_STYLES } from './styles/figures.ts';
import { FOUNDATION_STYLES } from './styles/foundation.ts';

export const STYLESHEET = [FOUNDATION_STYLES, COMPONENT_STYLES, FIGURE_STYLES].join('\n');

/** The address names the content, so that a copy may be kept for good. */
export const STYLESHEET_PATH = `/assets/page-${contentHash(STYLESHEET)}.css`;
export const ICON_PATH = '/assets/icon.svg';

/** A gauge: what is used of what there is. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bea"/><path d="M7 21a9 9 0 0 1 18 0" fill="none" stroke="#fff" stroke-opacity=".45" stroke-width="3.5" stroke-linecap="round"/><path d="M7 21a9 9 0 0 1 12.4-8.3" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round"/><circle cx="16" cy="21" r="2.6" fill="#fff"/></svg>`;
