/**
 * What the console's script looks for in a page: regions that follow it, and buttons that copy.
 */
import type { FC, PropsWithChildren } from 'hono/jsx';

interface LiveProps {
  id: string;
  /** Whether it still changes by itself; the script stops where it does not. */
  on?: boolean;
  /** What a screen reader says when this text is another than before. */
  says?: string;
  /** What stands in its place when the page no longer has the region. */
  gone?: string;
}

/** A part of a page that the script keeps up to date. */
export const Live: FC<PropsWithChildren<LiveProps>> = ({ id, on = true, says, gone, children }) => (
  <div class="stack" id={id} data-live={on ? '' : undefined} data-says={says} data-gone={gone}>
    {children}
  </div>
);

/** Copies the text of the element with the id; the script shows it. */
export const CopyButton: FC<PropsWithChildren<{ of: string }>> = ({ of, children }) => (
  <button type="button" data-copy={of} hidden>
    {children}
  </button>
);
