/**
 * A meter has one name: the label that the plan gives to it, or else the same name everywhere.
 */
import { expect, test } from 'vitest';
import { denialSentence } from '../../src/console/denial-sentence.ts';
import { fieldLabel } from '../../src/console/field-words.ts';
import { meterInText, meterLabel, meterTitle } from '../../src/domain/meter-names.ts';
import { METER_NAMES, METERS } from '../../src/domain/meters.ts';
import { slackMessage } from '../../src/events/slack.ts';
import { meterName } from '../../src/site/embed/sentences.ts';

const meter = { enabled: true, included: 10, unlimited: false, funding: { credits: false, payg: false } };
const plan = { customMeters: { CUSTOM1: { ...meter, label: 'Pages' }, CUSTOM2: { ...meter, label: 'CUSTOM2' } } };

test('a custom meter has the label of its plan, and without one the name of every plan', () => {
  expect(meterTitle('customMeter1', plan)).toBe('Pages');
  expect(meterTitle('customMeter1', 'Pages')).toBe('Pages');
  expect(meterInText('customMeter1', plan)).toBe('Pages');
  // A plan without a label has the slot in its place.
  expect(meterTitle('customMeter2', plan)).toBe('Custom meter 2');
  expect(meterTitle('customMeter2', 'CUSTOM2')).toBe('Custom meter 2');
  expect(meterInText('agenticApi', plan)).toBe('agentic API');
  expect(METER_NAMES.map((name) => meterLabel(plan, name)).filter((label) => label !== null)).toEqual(['Pages']);
});

test('no label changes the name of a meter that plans cannot name', () => {
  for (const name of METER_NAMES.filter((one) => METERS[one].slot === null))
    expect([name, meterTitle(name, plan)]).toEqual([name, meterTitle(name)]);
});

test.each(METER_NAMES)('pages, the widget, denials and messages call %s the same', (name) => {
  const title = meterTitle(name);
  const widgetMeter = { name, label: null } as Parameters<typeof meterName>[0];
  expect(meterName(widgetMeter)).toBe(title);
  const reached = { customerId: 'ann', meter: name, threshold: 80, used: 8, limit: 10, periodEndsAt: null };
  expect(slackMessage('meter.threshold_reached', reached, null)).toContain(`ann: ${title} reached 80%`);
  const labeled = { ...reached, meterLabel: 'Pages' };
  expect(slackMessage('meter.threshold_reached', labeled, null)).toContain(`ann: Pages reached 80%`);
  const denial = { code: 'ALLOWANCE_EXHAUSTED' as const, meter: name, limit: 5, used: 5, requested: [] };
  expect(denialSentence(denial as unknown as Parameters<typeof denialSentence>[0], 'Free')).toContain(
    `5 of the 5 ${meterInText(name)} of Free were used`,
  );
});

test('a form and the log of changes call a custom meter without a plan at hand by its own name', () => {
  expect(fieldLabel('customMeters.AGENTIC_API')).toBe('Agentic API');
  expect(fieldLabel('customMeters.CUSTOM2.included')).toBe('Custom meter 2: included per period');
});
