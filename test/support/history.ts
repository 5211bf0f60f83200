/**
 * Histories of usage without the calls: hours in the form of a customer's object, and in D1's form for reports.
 *
 * The service's writers of these rows have their own tests; here the rows are a long past that no test could live
 * through.
 */
import { runInDurableObject } from 'cloudflare:test';
import { COUNT_USAGE } from '../../src/history/roll-ups.ts';
import { noteUsage } from './usage.ts';
import { bindings, customerStub } from './worker.ts';

/** An hour of a customer; an absent field is 0. */
export interface ObjectHour {
  atMs: number;
  completedCalls?: number;
  failedCalls?: number;
  inputTokens?: number;
  outputTokens?: number;
  costNanoUsd?: number;
  unpricedCalls?: number;
  custom1?: number;
  custom2?: number;
  agenticApi?: number;
}

/** Writes hours into the object of a customer that exists. */
export async function writeObjectHours(
  organizationId: string,
  customerId: string,
  hours: readonly ObjectHour[],
): Promise<void> {
  await runInDurableObject(customerStub(organizationId, customerId), (_, { storage }) => {
    storage.sql.exec(
      `INSERT INTO usage_hours (hour_ms, completed_calls, failed_calls, input_tokens, output_tokens, completed_cost_rest_nano_usd,
         failed_cost_rest_nano_usd, unpriced_calls, custom1, custom2, agentic_api)
       SELECT value ->> 'atMs', COALESCE(value ->> 'completedCalls', 0), COALESCE(value ->> 'failedCalls', 0),
         COALESCE(value ->> 'inputTokens', 0), COALESCE(value ->> 'outputTokens', 0), COALESCE(value ->> 'costNanoUsd', 0), 0,
         COALESCE(value ->> 'unpricedCalls', 0), COALESCE(value ->> 'custom1', 0), COALESCE(value ->> 'custom2', 0),
         COALESCE(value ->> 'agenticApi', 0)
       FROM json_each(?)`,
      JSON.stringify(hours),
    );
  });
}

/** An hour of a customer in one feature, model and outcome; an absent field is 0 or empty. */
export interface ReportHour {
  customerId: string;
  atMs: number;
  feature?: string;
  model?: string;
  outcome?: 'COMPLETED' | 'FAILED' | 'TIMEOUT' | 'NOT_ALLOWED';
  calls: number;
  costNanoUsd?: number;
  inputTokens?: number;
  cachedInputTokens?: number;
}

/** Writes hours into the table that reports are made from. */
export async function writeReportHours(organizationId: string, hours: readonly ReportHour[]): Promise<void> {
  const changes = bindings.DB.prepare(
    noteUsage(
      {
        organization_id: '?1',
        customer_id: "value ->> 'customerId'",
        feature: "COALESCE(value ->> 'feature', '')",
        model: "COALESCE(value ->> 'model', '')",
        outcome: "COALESCE(value ->> 'outcome', 'COMPLETED')",
        paid_model: "CASE WHEN value ->> 'costNanoUsd' > 0 THEN COALESCE(value ->> 'model', '') ELSE '' END",
        hour_ms: "value ->> 'atMs'",
        calls: "value ->> 'calls'",
        input_tokens: "COALESCE(value ->> 'inputTokens', 0)",
        cached_input_tokens: "COALESCE(value ->> 'cachedInputTokens', 0)",
        cost_rest_nano_usd: "COALESCE(value ->> 'costNanoUsd', 0)",
      },
      'FROM json_each(?2)',
    ),
  ).bind(organizationId, JSON.stringify(hours));
  await bindings.DB.batch([changes, ...COUNT_USAGE.map((sql) => bindings.DB.prepare(sql))]);
}
