/**
 * Promise: a command arrives at a customer's object as it was sent, and one that the object would not understand does
 * not compile.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asCallId, asOrganizationId } from '../../src/domain/ids.ts';
import { COMPONENTS } from '../../src/domain/price.ts';
import type { ResolvedPrice } from '../../src/domain/pricing.ts';
import { type CommandText, receiveCommand, sendCommand } from '../../src/objects/command-text.ts';
import type { BeginCommand, EndCommand } from '../../src/objects/customer-commands.ts';
import { CHARACTER } from '../support/characters.ts';
import { NO_USAGE } from './fixtures.ts';

const rate = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String);
const rates = fc.array(
  fc.record(
    {
      component: fc.constantFrom(...COMPONENTS),
      nanoUsdPerMillion: rate,
      when: fc.record({ promptTokensAbove: fc.nat(), region: fc.string() }, { requiredKeys: [] }),
    },
    { requiredKeys: ['component', 'nanoUsdPerMillion'] },
  ),
  { maxLength: 6 },
);
const card = fc.record({
  snapshotId: fc.string(),
  provider: fc.string(),
  modelKey: fc.string(),
  rates,
});
const price: fc.Arbitrary<ResolvedPrice> = fc.oneof(
  fc.record({ available: fc.constant(true as const), card }),
  fc.constant<ResolvedPrice>({ available: false, reason: 'PRICE_NOT_IN_CATALOG' }),
);
const text = fc.string({ unit: CHARACTER });
const command: fc.Arbitrary<EndCommand> = fc.record({
  organizationId: text.map(asOrganizationId),
  callId: text.map(asCallId),
  idempotencyKey: fc.option(text),
  fingerprint: text,
  price,
  report: fc.record({
    modelUsed: text,
    usage: fc
      .record({ inputTokens: fc.nat(), audioSeconds: fc.double({ min: 0, max: 1e6, noNaN: true }) })
      .map((figures) => ({ ...NO_USAGE, ...figures })),
  }),
});

test('a command crosses unchanged, with every rate exact', () => {
  fc.assert(
    fc.property(command, (sent) => {
      expect(receiveCommand(sendCommand<EndCommand>(sent))).toEqual(sent);
    }),
  );
});

/** The type that a method of a customer's object takes. */
const end = (_command: CommandText<EndCommand>) => undefined;

test('a command with a misspelt, missing or unknown field, or of another method, does not compile', () => {
  const sent: Omit<EndCommand, 'price'> = {
    organizationId: asOrganizationId('o'),
    callId: asCallId('c'),
    idempotencyKey: null,
    fingerprint: '',
    report: { usage: NO_USAGE },
  };
  const unknown: ResolvedPrice = { available: false, reason: 'PRICE_NOT_IN_CATALOG' };
  end(sendCommand({ ...sent, price: unknown }));
  // @ts-expect-error `price` is misspelt.
  end(sendCommand({ ...sent, prize: unknown }));
  // @ts-expect-error `price` is missing.
  end(sendCommand(sent));
  // @ts-expect-error an end has no tags.
  end(sendCommand({ ...sent, price: unknown, tags: [] }));
  // @ts-expect-error a field of the report is misspelt.
  end(sendCommand({ ...sent, price: unknown, report: { usage: NO_USAGE, modelUsd: 'm' } }));
  // @ts-expect-error a begin is no end.
  end(sendCommand<BeginCommand>({} as BeginCommand));
  // @ts-expect-error a text that `sendCommand` did not make.
  end('{}');
  // @ts-expect-error a command has a type.
  sendCommand({ ...sent, price: unknown });
  const opened: EndCommand = receiveCommand(sendCommand<EndCommand>({ ...sent, price: unknown }));
  expect(opened.price).toEqual(unknown);
});
