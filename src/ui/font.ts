/**
 * The font of all pages, Inter: one variable file with Latin letters, served beside the Worker (src/cli/build-site.ts),
 * with its licence. Other scripts use the reader's system fonts.
 */

/**
 * The release of `@fontsource-variable/inter`, as in package.json. The addresses contain it, so that browsers can cache
 * them forever.
 */
const FONT_VERSION = '5.3.0';

export const FONT_PATH = `/assets/inter-${FONT_VERSION}.woff2`;
/** The licence, because the SIL Open Font License requires that it accompanies the font. */
export const FONT_LICENCE_PATH = `/assets/inter-${FONT_VERSION}.txt`;

/** The characters that the file contains. */
const CHARACTERS =
  'U+0000-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, U+0304, U+0308, U+0329, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD';

export const FONT_FACE = `
@font-face { font-family: "Inter Variable"; font-style: normal; font-weight: 100 900; font-display: swap; src: url("${FONT_PATH}") format("woff2"); unicode-range: ${CHARACTERS}; }
`;
