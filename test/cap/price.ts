/**
 * The price of the model that all calls of the cap suite run on, in whole nano-USD per token, so that every cost is
 * exact: a plain call (100 tokens in, 1,000 out) costs $0.18.
 */
export const PROVIDER = 'acme';
/** It does not think, by the catalog: only then is a stream held in steps. Its price is the operator's. */
export const MODEL = 'gpt-4o-mini';

export const INPUT_TOKENS = 100;
export const PLAIN_OUTPUT_TOKENS = 1_000;
/** The price of one increment of the custom meter. */
export const INCREMENT_NANO_USD = 10_000_000n;

const INPUT_NANO_USD = 20_000n;
const OUTPUT_NANO_USD = 178_000n;

/** As the operator sets it. */
export const PRICE = {
  strict: true,
  components: [
    { component: 'input', per: 1_000_000, usd: '20' },
    { component: 'output', per: 1_000_000, usd: '178' },
  ],
};

/** The charge of a call, with a markup that gives a whole number of nano-USD. */
export function computeCharge(inputTokens: number, outputTokens: number, markupPercent: number): bigint {
  const cost = BigInt(inputTokens) * INPUT_NANO_USD + BigInt(outputTokens) * OUTPUT_NANO_USD;
  return (cost * BigInt(100 + markupPercent)) / 100n;
}
