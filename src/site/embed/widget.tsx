/**
 * The usage widget: a customer's used and remaining quantities, the next payer, and the renewal. Rendered on the
 * server, as a page and as the fragment that refreshes it.
 */

import { html } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import scripts from '#scripts';
import { METERS } from '../../domain/meters.ts';
import { usd } from '../../domain/money.ts';
import { NEVER_MS } from '../../domain/period.ts';
import type { WidgetMeter, WidgetUsage } from '../../readings/usage/widget.ts';
import { TimeChart } from '../../ui/charts.tsx';
import { calendarDay, compact, count, dayMonth, distance } from '../../ui/format.ts';
import { Bar } from '../../ui/small-charts.tsx';
import { balanceSentence, isNotInPlan, meterName, meterSentence, type Sentence, writeSentences } from './sentences.ts';
import { WIDGET_STYLESHEET_PATH } from './stylesheet.ts';

/** The used share of a limit from which its bar warns. */
const NEARLY_USED = 0.8;

export interface WidgetProps {
  theme: 'auto' | 'light' | 'dark';
  variant: 'compact' | 'detailed';
  origins: readonly string[];
  livesMs: number;
  nowMs: number;
  /** `null` for an unknown customer. */
  usage: WidgetUsage | null;
}

/** The page in the frame. Its script continues with the token for which the page was rendered. */
export async function widgetPage(props: WidgetProps, token: string): Promise<string> {
  return document(
    props.theme,
    <>
      <Widget {...props} />
      <script src={scripts.widget} data-token={token} defer />
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
      <script src={scripts.opening} defer />
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
  const { planName, canceledAtMs, renewsAtMs, days } = usage;
  const rows = usage.meters.filter((meter) => isShown(meter, usage, variant));
  return (
    <>
      <div class="line">
        <h1>{planName}</h1>
        <p class="quiet">
          {canceledAtMs !== null
            ? 'Canceled'
            : renewsAtMs >= NEVER_MS
              ? 'Does not renew'
              : `Renews ${calendarDay(renewsAtMs)}, ${distance(renewsAtMs, nowMs)}`}
        </p>
      </div>
      <Totals usage={usage} nowMs={nowMs} />
      <Next usage={usage} nowMs={nowMs} />
      {rows.length > 0 && (
        <div class="meters">
          {rows.map((meter) => (
            <MeterRow meter={meter} says={meterSentence(meter, usage, nowMs)} />
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

/** The calls of the period and, for a customer with a balance, the balance and the charges to it. */
const Totals: FC<{ usage: WidgetUsage; nowMs: number }> = ({ usage, nowMs }) => {
  const { calls, balance } = usage;
  const lasts = balanceSentence(usage, nowMs);
  return (
    <div>
      <div class="totals">
        <p>
          <span class="total num">{count(calls)}</span>{' '}
          <span class="quiet">{calls === 1 ? 'call' : 'calls'} in this period</span>
        </p>
        {balance && (
          <p>
            <span class="total num">{usd(balance.nanoUsd)}</span> <span class="quiet">balance</span>
          </p>
        )}
        {balance?.spentNanoUsd != null && (
          <p>
            <span class="total num">{usd(balance.spentNanoUsd)}</span> <span class="quiet">spent in this period</span>
          </p>
        )}
      </div>
      {lasts && <p class="quiet">{lasts}</p>}
    </div>
  );
};

/** The payer of the next call, and a link to buy more. */
const Next: FC<{ usage: WidgetUsage; nowMs: number }> = ({ usage, nowMs }) => {
  const sentences = writeSentences(usage, nowMs);
  const { upgradeUrl } = usage;
  if (sentences.length === 0 && upgradeUrl === null) return null;
  return (
    <div class="next">
      {sentences.map(({ tone, text }) => (
        <p class={`says ${tone}`}>{text}</p>
      ))}
      {upgradeUrl !== null && (
        <a class="upgrade" href={upgradeUrl} target="_blank" rel="noopener noreferrer">
          Upgrade<span class="unseen"> (opens in a new tab)</span>
        </a>
      )}
    </div>
  );
};

/**
 * Compact: meters with a limit, and unlimited ones that another source pays for. Detailed: also unlimited meters in
 * use, and meters that the plan does not include. A custom meter that the plan does not have is never shown; for a tier
 * that the plan does not include, its calls stand for both meters.
 */
function isShown(meter: WidgetMeter, { meters }: WidgetUsage, variant: WidgetProps['variant']): boolean {
  const { name, label, limit, used } = meter;
  if (METERS[name].slot !== null && label === null) return false;
  if (limit === null) return variant === 'detailed' && used > 0;
  const calls = meters.find((other) => other.name === name.replace(/Tokens$/, 'Calls'));
  if (limit === 0 && calls !== meter && calls?.limit === 0) return false;
  return used > 0 || !isNotInPlan(meter) || variant === 'detailed';
}

const MeterRow: FC<{ meter: WidgetMeter; says: Sentence | null }> = ({ meter, says }) => {
  const { used, limit } = meter;
  const isIncluded = limit !== 0 && !isNotInPlan(meter);
  return (
    <div>
      <div class="meter-head">
        <span class="meter-name">{meterName(meter)}</span>
        <span class="num">
          {(isIncluded || used > 0) && compact(used)}
          {isIncluded && <span class="quiet"> / {limit === null ? 'unlimited' : compact(limit)}</span>}
        </span>
      </div>
      {isIncluded && <Share meter={meter} says={says} />}
      {says && <p class={`meter-foot ${says.tone}`}>{says.text}</p>}
    </div>
  );
};

const Share: FC<{ meter: WidgetMeter; says: Sentence | null }> = ({ meter, says }) =>
  meter.limit === null ? (
    <div class="unlimited" />
  ) : (
    <Bar share={meter.used / meter.limit} tone={barTone(meter, says)} />
  );

/** A bar warns if little is left or a lower tier answers, and is red if the next call is denied. */
function barTone({ used, limit, remaining }: WidgetMeter, says: Sentence | null): string {
  if (says?.tone === 'bad' || says?.tone === 'warn') return says.tone;
  return remaining > 0 && limit !== null && used / limit >= NEARLY_USED ? 'warn' : 'good';
}
