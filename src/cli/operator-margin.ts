/**
 * Margins on the command line: the cost of usage, and the payments for it.
 */
import type { Data } from './operator-client.ts';
import { type Columns, counts, dollars, firstRows, pairs, section, table, usd } from './table.ts';

type Margin = Data<'readOrganizationMargin'>;
type Figures = Margin['totals'];

export function showMargin(data: Margin): string {
  const { totals, byPlan, byFeature, byModel, truncated } = data;
  return [
    pairs({
      ...periodRows(data),
      ...totalRows(totals),
      Customers: data.customers,
      'On a plan without a price': data.customersWithoutPrice > 0 ? data.customersWithoutPrice : undefined,
    }),
    section(
      'Plans',
      byPlan === null
        ? 'not read: there are too many customers'
        : groups(
            byPlan,
            {
              Plan: ({ planId }) => planId,
              Customers: ({ customers }) => customers,
              'Without a price': ({ customersWithoutPrice }) => customersWithoutPrice,
            },
            truncated.includes('plan'),
          ),
    ),
    section('Features', groups(byFeature, { Feature: ({ feature }) => feature }, truncated.includes('feature'))),
    section('Models', groups(byModel, { Model: ({ model }) => model }, truncated.includes('model'))),
  ].join('\n');
}

export function showCustomerMargins(data: Data<'listCustomerMargins'>): string {
  const { totals, customers, customersWithoutPrice, items, nextCursor } = data;
  return [
    pairs({
      ...periodRows(data),
      ...totalRows(totals),
      'Customers, whose sum this is': customers,
      'Had a plan without a price': customersWithoutPrice > 0 ? customersWithoutPrice : undefined,
    }),
    section(
      'Customers',
      table(
        items,
        {
          Customer: ({ customerId }) => customerId,
          Calls: counts(({ calls }) => calls),
          Cost: dollars(({ costUsdNano }) => costUsdNano),
          Charged: dollars(({ chargedUsdNano }) => chargedUsdNano),
          'From plans': dollars(({ planUsdNano }) => planUsdNano),
          Revenue: dollars(({ revenueUsdNano }) => revenueUsdNano),
          Margin: dollars(({ marginUsdNano }) => marginUsdNano),
          'Share of revenue': ({ marginPercent }) => (marginPercent === null ? null : `${marginPercent} %`),
          'Calls without a price': counts(({ unpricedCalls }) => unpricedCalls),
          'Price of the plan': ({ planPriceKnown }) => (planPriceKnown ? 'set' : 'not set'),
        },
        { hasMore: nextCursor !== null },
      ),
    ),
  ].join('\n');
}

export function showCustomerMargin(data: Data<'readCustomerMargin'>): string {
  const { customerId, totals, planPriceKnown, byDay } = data;
  return [
    pairs({
      Customer: customerId,
      ...periodRows(data),
      ...totalRows(totals),
      'Price of the plan': planPriceKnown ? undefined : 'not set for all of the time, which then earns nothing here',
    }),
    section('Days', table(byDay, { Day: ({ date }) => date, ...FIGURES })),
  ].join('\n');
}

function periodRows({ period, completeSince, timezone }: Pick<Margin, 'period' | 'completeSince' | 'timezone'>) {
  return {
    Period: `${period.startedAt} to ${period.endedAt} (${timezone})`,
    'Complete since': completeSince > period.startedAt ? completeSince : undefined,
  };
}

function totalRows(totals: Figures): Record<string, unknown> {
  return {
    Calls: totals.calls,
    'Calls without a price': totals.unpricedCalls > 0 ? totals.unpricedCalls : undefined,
    Cost: usd(totals.costUsdNano),
    Charged: usd(totals.chargedUsdNano),
    'From plans': usd(totals.planUsdNano),
    Revenue: usd(totals.revenueUsdNano),
    Margin: `${usd(totals.marginUsdNano)}${isLoss(totals) ? ', a loss' : ''}`,
  };
}

const FIGURES: Columns<Figures> = {
  Calls: counts(({ calls }) => calls),
  Cost: dollars(({ costUsdNano }) => costUsdNano),
  Revenue: dollars(({ revenueUsdNano }) => revenueUsdNano),
  Margin: dollars(({ marginUsdNano }) => marginUsdNano),
};

function groups<Group extends Figures>(read: readonly Group[], named: Columns<Group>, hasMore: boolean): string {
  return firstRows(read, { ...named, ...FIGURES } as Columns<Group>, hasMore);
}

const isLoss = ({ marginUsdNano }: Figures) => BigInt(marginUsdNano) < 0n;
