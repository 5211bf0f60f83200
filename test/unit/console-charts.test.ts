/**
 * Charts show past values, and nothing else: every value is a mark of its own, and an unfinished time does not look
 * like a fall.
 */
import { describe, expect, test } from 'vitest';
import { usd } from '../../src/domain/money.ts';
import { TimeChart, type TimeChartProps } from '../../src/ui/charts.tsx';
import { MeterBar, Ranking, Sparkline } from '../../src/ui/small-charts.tsx';

const chart = (props: Partial<TimeChartProps>): string =>
  String(
    TimeChart({
      ...{ title: 'Calls per day', step: 'Day', labels: ['1 Nov'], series: [{ name: 'Calls', values: [3] }] },
      ...{ format: String, tick: String },
      ...props,
    }),
  );

const rects = (html: string) => [...html.matchAll(/<rect([^>]*)>/g)].map(([, attributes = '']) => attributes);

describe('a chart over time', () => {
  test('of a single day is a bar', () => {
    expect(rects(chart({}))).toHaveLength(1);
  });

  test('has one bar for each value above zero, and nothing between them', () => {
    const html = chart({ labels: ['1 Nov', '2 Nov', '3 Nov'], series: [{ name: 'Calls', values: [3, 0, 7] }] });
    expect(rects(html)).toHaveLength(2);
    expect(html).not.toContain('<path');
  });

  test('hangs what is below zero from a line at zero, and says each value', () => {
    const html = chart({ labels: ['a', 'b', 'c'], series: [{ name: 'Margin', values: [-20, 0, 40] }] });
    const bars = rects(html).map((attributes) => ({
      y: Number(/ y="([^"]*)"/.exec(attributes)?.[1]),
      height: Number(/height="([^"]*)"/.exec(attributes)?.[1]),
      isBelow: attributes.includes('class="below"'),
    }));
    const zero = Number(/class="rule zero"[^>]*y1="([^"]*)"/.exec(html)?.[1]);
    const [below, above] = bars;
    expect(bars).toHaveLength(2);
    expect([below?.y, below?.isBelow, above?.isBelow]).toEqual([expect.closeTo(zero, 0), true, false]);
    expect((above?.y ?? 0) + (above?.height ?? 0)).toBeCloseTo(zero, 0);
    expect(above?.height).toBeCloseTo(2 * (below?.height ?? 0), 0);
    for (const label of ['a -20', 'b 0', 'c 40']) expect(html).toContain(`aria-label="${label}"`);
  });

  test.each([[[-5, -1]], [[0, 0]], [[-3]]])('of %j has an axis that holds every value', (values) => {
    const html = chart({ labels: values.map(String), series: [{ name: 'Margin', values }] });
    for (const attributes of rects(html)) {
      const [y, height] = [/ y="([^"]*)"/, /height="([^"]*)"/].map((of) => Number(of.exec(attributes)?.[1]));
      expect((y ?? -1) >= 0 && (y ?? 0) + (height ?? 0) <= 200.1).toBe(true);
    }
    expect(html).not.toContain('NaN');
  });

  test('hatches the last bar where its time is not over, and says so', () => {
    const html = chart({ labels: ['1 Nov', '2 Nov'], series: [{ name: 'Calls', values: [3, 1] }], isLastOpen: true });
    expect(rects(html).map((attributes) => attributes.includes('class="open"'))).toEqual([false, true]);
    expect(html).toContain('2 Nov, not over');
    expect(html).toContain('Today, not over');
  });

  test('of several series has the values of each, their sum, and the period before, as text', () => {
    const html = chart({
      series: [
        { name: 'gpt', values: [3] },
        { name: 'claude', values: [4] },
      ],
      previous: [5],
    });
    const words = html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    for (const text of ['gpt: 3', 'claude: 4', 'In all: 7', 'Period before: 5']) expect(words).toContain(text);
  });

  test('leads from each mark, and from the figures, to what it counts', () => {
    const html = chart({
      labels: ['1 Nov', '2 Nov'],
      series: [{ name: 'Calls', values: [1, 2] }],
      links: ['/a', '/b'],
    });
    expect(html.match(/href="\/b"/g)).toHaveLength(2);
  });
});

const frontOf = (html: string) => /class="bar-front" width="([^"]*)"/.exec(html)?.[1];

test('the bar of a ranking is its share of the whole, also of the first', () => {
  expect(frontOf(String(Ranking({ label: 'By model', rows: [{ name: 'a', share: 0.58, value: '$5.80' }] })))).toBe(
    '58',
  );
});

test('a meter that the plan does not include is no full bar until it is used', () => {
  expect([frontOf(String(MeterBar({ used: 0, limit: 0 }))), frontOf(String(MeterBar({ used: 2, limit: 0 })))]).toEqual([
    '0',
    '100',
  ]);
});

test('a sparkline states its first and last value with their unit', () => {
  const html = String(
    Sparkline({ values: [1_500_000_000, 3_000_000_000], label: 'Cost a day', format: (nano) => usd(BigInt(nano)) }),
  );
  expect(html).toContain('<title>Cost a day: from $1.50 to $3.00, 100% more</title>');
  expect(html).toContain('aria-label="Cost a day: from $1.50 to $3.00, 100% more"');
});
