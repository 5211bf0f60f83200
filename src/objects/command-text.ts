/**
 * How the commands that come in numbers cross from the Worker to a customer's object: as JSON, because a text costs
 * less on its way than the object that it stands for. The rates of a price, which no number of JSON can hold, are
 * decimal strings.
 */
import type { NanoUsd } from '../domain/money.ts';
import type { RateCard, ResolvedPrice } from '../domain/pricing.ts';

type SentRates = Record<string, string | undefined>;
type SentCard = Omit<RateCard, 'rates' | 'tiers'> & {
  rates: SentRates;
  tiers: { inputTokensAbove: number; rates: SentRates }[];
};
type SentPrice = Exclude<ResolvedPrice, { available: true }> | { available: true; card: SentCard };

export function sendCommand<Command extends object>(command: Command): string {
  return JSON.stringify(
    'price' in command ? { ...command, price: sendPrice(command.price as ResolvedPrice) } : command,
  );
}

export function receiveCommand<Command extends object>(text: string): Command {
  const command = JSON.parse(text) as Command;
  return 'price' in command ? { ...command, price: receivePrice(command.price as SentPrice) } : command;
}

function sendPrice(price: ResolvedPrice): SentPrice {
  if (!price.available) return price;
  const { card } = price;
  const tiers = card.tiers.map(({ inputTokensAbove, rates }) => ({ inputTokensAbove, rates: sendRates(rates) }));
  return { available: true, card: { ...card, rates: sendRates(card.rates), tiers } };
}

function receivePrice(price: SentPrice): ResolvedPrice {
  if (!price.available) return price;
  const { card } = price;
  const tiers = card.tiers.map(({ inputTokensAbove, rates }) => ({ inputTokensAbove, rates: receiveRates(rates) }));
  return { available: true, card: { ...card, rates: receiveRates(card.rates), tiers } };
}

function sendRates(rates: object): SentRates {
  return Object.fromEntries(
    Object.entries(rates as Record<string, NanoUsd | undefined>).map(([name, rate]) => [name, rate?.toString()]),
  );
}

function receiveRates(sent: SentRates): RateCard['rates'] {
  const rates: Record<string, NanoUsd> = {};
  for (const [name, rate] of Object.entries(sent)) if (rate !== undefined) rates[name] = BigInt(rate);
  return rates as unknown as RateCard['rates'];
}
