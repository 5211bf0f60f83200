/**
 * The small components of all pages: figures with their exact values, times, badges, cards, notices, lists of facts.
 */
import type { Child, FC, PropsWithChildren } from 'hono/jsx';
import { formatUsd, type NanoUsd, usd } from '../domain/money.ts';
import { NEVER_MS } from '../domain/period.ts';
import { calendarDay, compact, count, distance, moment } from './format.ts';

/** An amount with its own number of decimals, or with that of its column. */
export const Usd: FC<{ nano: NanoUsd; show?: (nano: NanoUsd) => string }> = ({ nano, show = usd }) => (
  <data value={formatUsd(nano)} title={`$${formatUsd(nano)}`} class="num">
    {show(nano)}
  </data>
);

export const Count: FC<{ value: number }> = ({ value }) => <span class="num">{count(value)}</span>;

/** A large count in short form, with the full one as its title. */
export const Compact: FC<{ value: number }> = ({ value }) => (
  <data value={String(value)} title={count(value)} class="num">
    {compact(value)}
  </data>
);

/** A time in UTC, with its distance from now. */
export const Time: FC<{ at: string | number; nowMs: number; brief?: boolean }> = ({ at, nowMs, brief = false }) => {
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  if (atMs >= NEVER_MS) return <span>never</span>;
  const iso = new Date(atMs).toISOString();
  const text = `${moment(atMs)} UTC`;
  return (
    <time datetime={iso} title={brief ? `${text} (${iso})` : iso} class="num">
      <span class="at">{brief ? distance(atMs, nowMs) : text}</span>
      {!brief && <span class="quiet hint"> {distance(atMs, nowMs)}</span>}
    </time>
  );
};

/** A day such as `2026-10-23`. */
export const Day: FC<{ day: string | null | undefined }> = ({ day }) =>
  day == null ? (
    <Nothing />
  ) : (
    <time datetime={day} class="num whole">
      {calendarDay(day)}
    </time>
  );

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

export const Badge: FC<PropsWithChildren<{ tone?: Tone; title?: string }>> = ({ tone = 'plain', title, children }) => (
  <span class={`badge ${tone}`} title={title}>
    {children}
  </span>
);

/** An identifier with more characters is shown without its middle. */
const ID_CHARS_MAX = 22;
const ID_END = 6;

/** An identifier. A long one is shown without its middle, but copied and read aloud in full. */
export const Id: FC<{ id: string }> = ({ id }) =>
  id.length <= ID_CHARS_MAX ? (
    <span class="id mono">{id}</span>
  ) : (
    <span class="id mono" title={id}>
      <span class="id-start">{id.slice(0, -ID_END)}</span>
      {id.slice(-ID_END)}
    </span>
  );

export const Code: FC<PropsWithChildren> = ({ children }) => <code>{children}</code>;

export const Card: FC<
  PropsWithChildren<{ title?: string; id?: string; actions?: Child; wide?: boolean; note?: Child }>
> = ({ title, id, actions, wide = false, note, children }) => (
  <section class={wide ? 'card wide' : 'card'} id={id} aria-label={title}>
    {(title || actions) && (
      <header class="card-head">
        {title && <h2>{title}</h2>}
        {actions && <div class="actions">{actions}</div>}
      </header>
    )}
    {note && <p class="quiet note">{note}</p>}
    {children}
  </section>
);

export const Stat: FC<PropsWithChildren<{ label: Child; sub?: Child }>> = ({ label, sub, children }) => (
  <div class="stat">
    <dt>{label}</dt>
    <dd>
      <span class="stat-value">{children}</span>
      {sub && <span class="quiet stat-sub">{sub}</span>}
    </dd>
  </div>
);

/** Names and values, one line each; absent values are omitted. */
export const Facts: FC<{ items: readonly (readonly [string, Child | undefined])[] }> = ({ items }) => (
  <dl class="facts">
    {items.map(
      ([label, value]) =>
        value !== undefined && (
          <div>
            <dt>{label}</dt>
            <dd>{value ?? <Nothing />}</dd>
          </div>
        ),
    )}
  </dl>
);

export const Nothing: FC = () => <span class="quiet nothing">–</span>;

/** An empty state: the future content, and the next step. */
export const Empty: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    <div class="quiet">{children}</div>
  </div>
);

export const Notice: FC<PropsWithChildren<{ tone: Tone; title?: string }>> = ({ tone, title, children }) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    {title && <strong>{title} </strong>}
    {children}
  </div>
);

/** Warnings, one below the other; nothing if there are none. */
export const Warnings: FC<{ texts: readonly string[] | undefined; title?: string }> = ({ texts = [], title }) =>
  texts.length === 0 ? null : (
    <Notice tone="warn" {...(title !== undefined && { title })}>
      <ul>
        {texts.map((text) => (
          <li>{text}</li>
        ))}
      </ul>
    </Notice>
  );

/** JSON for people to read and copy. */
export const Json: FC<{ value: unknown }> = ({ value }) => <pre class="json">{JSON.stringify(value, null, 2)}</pre>;
