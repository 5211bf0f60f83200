/**
 * Samples of calls for review: the policy, storing a sample, and the operator's access.
 */
import { idempotencyKey, listOf } from '../fields.ts';
import {
  DeletedSample,
  ExportSamplesQuery,
  ListSamplesQuery,
  SAMPLE_BYTES_MAX,
  Sample,
  SampleListItem,
  StoredSample,
  StoreSampleRequest,
} from '../samples.ts';
import {
  DecideSamplingRequest,
  SamplingDecision,
  SamplingPolicy,
  SamplingSettings,
  SetSamplingRequest,
} from '../sampling.ts';
import { apiKey, editor, type Operation, operation, organizationParam, viewer } from './operation.ts';

const sampleParam = organizationParam.extend({ sampleId: idempotencyKey.describe('The sample') });
const invoke = apiKey('compression:invoke');

export const sampling = {
  readSamplingSettings: operation({
    operationId: 'readSamplingSettings',
    summary: 'Read which calls are to be kept for review, to decide by oneself',
    method: 'GET',
    path: '/sampling/settings',
    security: invoke,
    code: 'SAMPLING_SETTINGS_READ',
    data: SamplingSettings,
  }),
  decideSampling: operation({
    operationId: 'decideSampling',
    summary: 'Ask whether a call is to be kept for review',
    method: 'POST',
    path: '/sampling/decide',
    security: invoke,
    body: DecideSamplingRequest,
    code: 'SAMPLING_DECIDED',
    data: SamplingDecision,
  }),
  storeSample: operation({
    operationId: 'storeSample',
    summary: 'Keep a call for review, after a positive decision',
    method: 'POST',
    path: '/samples',
    security: invoke,
    body: StoreSampleRequest,
    bodyBytesMax: SAMPLE_BYTES_MAX,
    code: 'SAMPLE_STORED',
    data: StoredSample,
  }),
  setSampling: operation({
    operationId: 'setSampling',
    summary: 'Set which calls an organization keeps for review, and for how long',
    method: 'PUT',
    path: '/operator/organizations/{org}/sampling',
    security: editor,
    params: organizationParam,
    body: SetSamplingRequest,
    code: 'SAMPLING_SAVED',
    data: SamplingPolicy,
  }),
  listSamples: operation({
    operationId: 'listSamples',
    summary: 'List stored samples without their payloads, newest first',
    method: 'GET',
    path: '/operator/organizations/{org}/samples',
    security: viewer,
    params: organizationParam,
    query: ListSamplesQuery,
    code: 'SAMPLES_LISTED',
    data: listOf(SampleListItem),
  }),
  exportSamples: operation({
    operationId: 'exportSamples',
    summary: 'Export stored samples with their payloads as JSON Lines, newest first',
    method: 'GET',
    path: '/operator/organizations/{org}/samples/export',
    security: editor,
    params: organizationParam,
    query: ExportSamplesQuery,
    code: 'SAMPLES_EXPORTED',
    data: Sample,
    lines: true,
  }),
  readSample: operation({
    operationId: 'readSample',
    summary: 'Read a stored sample',
    method: 'GET',
    path: '/operator/organizations/{org}/samples/{sampleId}',
    security: editor,
    params: sampleParam,
    code: 'SAMPLE_READ',
    data: Sample,
  }),
  deleteSample: operation({
    operationId: 'deleteSample',
    summary: 'Delete a stored sample',
    method: 'DELETE',
    path: '/operator/organizations/{org}/samples/{sampleId}',
    security: editor,
    params: sampleParam,
    code: 'SAMPLE_DELETED',
    data: DeletedSample,
  }),
} as const satisfies Record<string, Operation>;
