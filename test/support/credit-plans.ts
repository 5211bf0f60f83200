/**
 * The common setup of tests of credit: a plan that includes no calls, so that credit pays for all of them, and a price
 * that is easy to compute with.
 */

/** Purchases cost their list price, unless `payg` says otherwise. */
export const planOnCredit = (payg: object = {}) => ({
  name: 'On credit',
  limitType: 'BLOCK',
  limits: { standardCalls: 0, premiumCalls: 0 },
  payg: { enabled: true, markupPercent: 0, ...payg },
});

/** An own price: 2 USD for a million tokens of input, and 10 USD for a million of output. */
export const TWO_RATES = [
  { component: 'input', per: 1_000_000, usd: '2' },
  { component: 'output', per: 1_000_000, usd: '10' },
];
