/**
 * Readings of recorded usage: summary, anomalies, usage context, forecast, model radar.
 */
import { z } from 'zod';
import { customerId } from '../fields.ts';
import { ModelRadarData, ModelRadarQuery } from '../model-radar.ts';
import {
  AnomaliesData,
  AnomaliesQuery,
  ForecastData,
  ForecastQuery,
  UsageContextData,
  UsageContextQuery,
} from '../readings.ts';
import { SummaryQuery, UsageSummaryData } from '../usage-summary.ts';
import { apiKey, type Operation, operation, organizationParam, viewer } from './operation.ts';

const customerParam = z.object({ customerId });
const organizationCustomerParam = organizationParam.extend({ customerId });

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
    csv: true,
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
  readModelRadar: operation({
    operationId: 'readModelRadar',
    summary: 'Read which models in use end, have a successor or no price, and what the replacement would have cost',
    method: 'GET',
    path: '/v1/model-radar',
    security: apiKey('usage:read'),
    query: ModelRadarQuery,
    code: 'MODEL_RADAR_READ',
    data: ModelRadarData,
    csv: true,
  }),
  readOrganizationUsage: operation({
    operationId: 'readOrganizationUsage',
    summary: "Read an organization's calls, tokens and cost over a period, as the operator",
    method: 'GET',
    path: '/operator/organizations/{org}/usage/summary',
    security: viewer,
    params: organizationParam,
    query: SummaryQuery,
    code: 'USAGE_SUMMARY_READ',
    data: UsageSummaryData,
  }),
  readOrganizationAnomalies: operation({
    operationId: 'readOrganizationAnomalies',
    summary: "Read what stands out in an organization's usage, as the operator",
    method: 'GET',
    path: '/operator/organizations/{org}/usage/anomalies',
    security: viewer,
    params: organizationParam,
    query: AnomaliesQuery,
    code: 'USAGE_ANOMALIES_READ',
    data: AnomaliesData,
  }),
  readOrganizationUsageContext: operation({
    operationId: 'readOrganizationUsageContext',
    summary: "Read a compact brief of a customer's usage, funding, signals and forecast, as the operator",
    method: 'GET',
    path: '/operator/organizations/{org}/customers/{customerId}/usage-context',
    security: viewer,
    params: organizationCustomerParam,
    query: UsageContextQuery,
    code: 'USAGE_CONTEXT_READ',
    data: UsageContextData,
  }),
  readOrganizationForecast: operation({
    operationId: 'readOrganizationForecast',
    summary: 'Forecast a metric of a customer until the next replenishment, as the operator',
    method: 'GET',
    path: '/operator/organizations/{org}/customers/{customerId}/forecast',
    security: viewer,
    params: organizationCustomerParam,
    query: ForecastQuery,
    code: 'FORECAST_READ',
    data: ForecastData,
  }),
  readOrganizationModelRadar: operation({
    operationId: 'readOrganizationModelRadar',
    summary: "Read an organization's model radar: models in use that end, have a successor or no price",
    method: 'GET',
    path: '/operator/organizations/{org}/model-radar',
    security: viewer,
    params: organizationParam,
    query: ModelRadarQuery,
    code: 'MODEL_RADAR_READ',
    data: ModelRadarData,
    csv: true,
  }),
} as const satisfies Record<string, Operation>;
