/**
 * Readings of recorded usage: summary, anomalies, usage context, forecast.
 */
import { z } from 'zod';
import { customerId } from '../fields.ts';
import {
  AnomaliesData,
  AnomaliesQuery,
  ForecastData,
  ForecastQuery,
  UsageContextData,
  UsageContextQuery,
} from '../readings.ts';
import { SummaryQuery, UsageSummaryData } from '../usage-summary.ts';
import { apiKey, type Operation, operation } from './operation.ts';

const customerParam = z.object({ customerId });

export const readings = {
  readUsageSummary: operation({
    operationId: 'readUsageSummary',
    summary: "Read an organization's calls, tokens and cost over a period, in every dimension",
    method: 'GET',
    path: '/usage/summary',
    security: apiKey('usage:read'),
    query: SummaryQuery,
    code: 'USAGE_SUMMARY_READ',
    data: UsageSummaryData,
  }),
  readUsageAnomalies: operation({
    operationId: 'readUsageAnomalies',
    summary: 'Read what stands out in the usage of an organization and its largest customers',
    method: 'GET',
    path: '/usage/anomalies',
    security: apiKey('usage:read'),
    query: AnomaliesQuery,
    code: 'USAGE_ANOMALIES_READ',
    data: AnomaliesData,
  }),
  readUsageContext: operation({
    operationId: 'readUsageContext',
    summary: "Read a compact brief of a customer's usage, funding, signals and forecast",
    method: 'GET',
    path: '/customers/{customerId}/usage-context',
    security: apiKey('customers:read', 'usage:read'),
    params: customerParam,
    query: UsageContextQuery,
    code: 'USAGE_CONTEXT_READ',
    data: UsageContextData,
  }),
  readForecast: operation({
    operationId: 'readForecast',
    summary: 'Forecast a metric of a customer until the next replenishment',
    method: 'GET',
    path: '/customers/{customerId}/forecast',
    security: apiKey('customers:read', 'usage:read'),
    params: customerParam,
    query: ForecastQuery,
    code: 'FORECAST_READ',
    data: ForecastData,
  }),
} as const satisfies Record<string, Operation>;
