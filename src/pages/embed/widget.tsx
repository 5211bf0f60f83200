/**
 * The usage widget: what a customer has used, what is left, and when it renews. Rendered on the server, as a page and
 * as the fragment that refreshes it.
 */

import { html } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import type { MeterSummary } from '../../domain/allowances.ts';
import type { MeterName } from '../../domain/meters.ts';
import { NEVER_MS } from '../../domain/period.ts';
import { TIERS } from '../../domain/tiers.ts';
import type { WidgetUsage } from '../../readings/usage/widget.ts';
import { MeterBar, TimeChart } from '../../ui/charts.tsx';
import { calendarDay, compact, count, dayMonth, distance, words } from '../../ui/format.ts';
import { OPENING_SCRIPT_PATH, WIDGET_SCRIPT_PATH } from './scripts.ts';
import { WIDGET_STYLESHEET_PATH } from './stylesheet.ts';

export interface WidgetProps {
  theme: 'auto' | 'light' | 'dark';
  variant: 'compact' | 'detailed';
  origins: readonly string[];
  livesMs: number;
  nowMs: number;
  /** `null` for an unknown customer. */
  usage: WidgetUsage | null;
}

/** The page in the frame. Its script continues with the token that the page was rendered for. */
export async function widgetPage(props: WidgetProps, token: string): Promise<string> {
  return document(
    props.theme,
    <>
      <Widget {...props} />
      <script src={WIDGET_SCRIPT_PATH} data-token={token} defer />
    </>,
  );
}

/** The fragment that refreshes the page. */
export async function widgetPart(props: WidgetProps): Promise<string> {
  return String(await (<Widget {...props} />));
}

/** The first page: a form that submits the token of the fragment. */
export async function openingPage(action: string): Promise<string> {
  return document(
    'auto',
    <>
      <form method="post" action={action}>
        <input type="hidden" name="token" autocomplete="off" />
      </form>
      <main id="ended" hidden>
        <Ended />
      </main>
      <noscript>This view needs JavaScript.</noscript>
      <script src={OPENING_SCRIPT_PATH} defer />
    </>,
  );
}

/** The page for an invalid token. */
export async function endedPage(): Promise<string> {
  return document(
    'auto',
    <main>
      <Ended />
    </main>,
  );
}

const Ended: FC = () => (
  <>
    <h1>Usage</h1>
    <p>This view has ended. Reload the page that it is on.</p>
  </>
);

async function document(theme: WidgetProps['theme'], content: Child): Promise<string> {
  return String(
    await html`<!doctype html>${(
      <html lang="en" data-theme={theme === 'auto' ? undefined : theme}>
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <title>Usage</title>
          <link rel="stylesheet" href={WIDGET_STYLESHEET_PATH} />
        </head>
        <body>{content}</body>
      </html>
    )}`,
  );
}

const Widget: FC<WidgetProps> = ({ variant, origins, livesMs, nowMs, usage }) => (
  <main id="widget" data-origins={origins.join(' ')} data-lives-ms={String(Math.max(0, livesMs))}>
    {usage ? <Usage usage={usage} variant={variant} nowMs={nowMs} /> : <p>No usage yet.</p>}
  </main>
);

const Usage: FC<{ usage: WidgetUsage; variant: WidgetProps['variant']; nowMs: number }> = ({
  usage,
  variant,
  nowMs,
}) => {
  const { planName, canceled, nextReplenishAt, meters, labels, days } = usage;
  const renewsMs = Date.parse(nextReplenishAt);
  const calls = TIERS.reduce((sum, tier) => sum + (meters[`${tier}Calls`]?.used ?? 0), 0);
  const rows = (Object.entries(meters) as [MeterName, MeterSummary][]).filter(([, meter]) => isShown(meter, variant));
  return (
    <>
      <div>
        <div class="line">
          <h1>{planName}</h1>
          <p class="quiet">
            {canceled
              ? 'Canceled'
              : renewsMs >= NEVER_MS
                ? 'Does not renew'
                : `Renews ${calendarDay(renewsMs)}, ${distance(renewsMs, nowMs)}`}
          </p>
        </div>
        <p>
          <span class="calls num">{count(calls)}</span>{' '}
          <span class="quiet">{calls === 1 ? 'call' : 'calls'} in this period</span>
        </p>
      </div>
      {rows.length > 0 && (
        <div class="meters">
          {rows.map(([name, meter]) => (
            <MeterRow label={labels[name] ?? words(name)} meter={meter} />
          ))}
        </div>
      )}
      {variant === 'detailed' && (
        <section aria-label="Calls by day">
          <h2>Calls by day</h2>
          <TimeChart
            title="Calls by day"
            step="Day"
            isLastOpen
            labels={days.map(({ startMs }) => dayMonth(startMs))}
            series={[{ name: 'Calls', values: days.map((day) => day.calls) }]}
            format={count}
            tick={compact}
          />
        </section>
      )}
    </>
  );
};

/**
 * Compact: meters with a limit. Detailed: also unlimited meters with usage. Meters that the plan excludes are hidden.
 */
function isShown({ limit, used }: MeterSummary, variant: WidgetProps['variant']): boolean {
  return limit === null ? variant === 'detailed' && used > 0 : limit > 0 || used > 0;
}

const MeterRow: FC<{ label: string; meter: MeterSummary }> = ({ label, meter: { used, limit, remaining } }) => (
  <div>
    <div class="meter-head">
      <span class="meter-name">{label}</span>
      <span class="num">
        {compact(used)}
        <span class="quiet"> / {limit === null ? 'unlimited' : compact(limit)}</span>
      </span>
    </div>
    {limit === null ? <div class="unlimited" /> : <MeterBar used={used} limit={limit} />}
    {limit !== null && <p class="meter-foot">{remaining === 0 ? 'nothing left' : `${count(remaining)} left`}</p>}
  </div>
);
