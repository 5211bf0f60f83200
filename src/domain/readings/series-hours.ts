/**
 * The hours of a customer's usage on their way from the object to the readings: one text, and what it says.
 */

/** An hour with usage, as readings take it. Money and units are numbers: for estimates, not for bills. */
export interface SeriesHour {
  startMs: number;
  completedCalls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  agenticApi: number;
  customMeter1: number;
  customMeter2: number;
  unpricedCalls: number;
}

/** Reads an array of arrays of numbers, in the order of the fields of `SeriesHour`, cost in nano-USD. */
export function parseHours(json: string): SeriesHour[] {
  return (JSON.parse(json) as number[][]).map(
    ([startMs = 0, completedCalls = 0, failedCalls = 0, inputTokens = 0, outputTokens = 0, costNanoUsd = 0, ...units]) => {
      const [agenticApi = 0, customMeter1 = 0, customMeter2 = 0, unpricedCalls = 0] = units;
      const costUsd = costNanoUsd / 1e9;
      return {
        startMs,
        completedCalls,
        failedCalls,
        inputTokens,
        outputTokens,
        costUsd,
        agenticApi,
        customMeter1,
        customMeter2,
        unpricedCalls,
      };
    },
  );
}
