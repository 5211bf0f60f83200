/**
 * All tables of a customer's object.
 */
import { AwaitedFigureTable } from './awaited-figures.ts';
import { BatchHoldTable } from './batch-holds.ts';
import { BoundShareTable } from './bound-shares.ts';
import { CallTable } from './calls.ts';
import { ChargeTable } from './charges.ts';
import { CorrectionTable } from './corrections.ts';
import { CountedPromptTable } from './counted-prompts.ts';
import { DeniedHourTable } from './denied-hours.ts';
import { EventTable } from './events.ts';
import { FailedHourTable } from './failed-hours.ts';
import { FormTable } from './forms.ts';
import { KeptAnswerTable } from './kept-answers.ts';
import { KeyTable } from './keys.ts';
import { LedgerTable } from './ledger.ts';
import { MeterEventTable } from './meter-events.ts';
import { OutboxTable } from './outbox.ts';
import { PastCallTable } from './past-calls.ts';
import { UsageHourTable } from './usage-hours.ts';

export type Tables = ReturnType<typeof openTables>;

export function openTables(sql: SqlStorage) {
  return {
    calls: new CallTable(sql),
    awaitedFigures: new AwaitedFigureTable(sql),
    batchHolds: new BatchHoldTable(sql),
    boundShares: new BoundShareTable(sql),
    countedPrompts: new CountedPromptTable(sql),
    forms: new FormTable(sql),
    keptAnswers: new KeptAnswerTable(sql),
    keys: new KeyTable(sql),
    meterEvents: new MeterEventTable(sql),
    usageHours: new UsageHourTable(sql),
    deniedHours: new DeniedHourTable(sql),
    failedHours: new FailedHourTable(sql),
    ledger: new LedgerTable(sql),
    charges: new ChargeTable(sql),
    corrections: new CorrectionTable(sql),
    events: new EventTable(sql),
    outbox: new OutboxTable(sql),
    pastCalls: new PastCallTable(sql),
  };
}
