/**
 * An HTML document with the service's stylesheet. It loads nothing from another origin.
 */
import type { FC, PropsWithChildren } from 'hono/jsx';
import { ICON_PATH, STYLESHEET_PATH } from './stylesheet.ts';

interface DocumentProps {
  title: string;
  /** By default the reader's own setting. */
  theme?: 'light' | 'dark';
  /** The seconds after which the page reloads if no script runs. */
  refreshSeconds?: number | undefined;
  script?: string;
}

export const Document: FC<PropsWithChildren<DocumentProps>> = ({ title, theme, refreshSeconds, script, children }) => (
  <html lang="en" data-theme={theme}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      {refreshSeconds !== undefined && (
        <noscript>
          <meta http-equiv="refresh" content={String(refreshSeconds)} />
        </noscript>
      )}
      <title>{title}</title>
      <link rel="icon" href={ICON_PATH} type="image/svg+xml" />
      <link rel="stylesheet" href={STYLESHEET_PATH} />
      {script !== undefined && <script src={script} defer />}
    </head>
    <body>{children}</body>
  </html>
);
