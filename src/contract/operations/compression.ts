/**
 * Prompt compression: recorded savings, the customers who may be billed, the profile, the summary, estimates; and
 * operators' use of it for an organization.
 */
import { z } from 'zod';
import {
  AuthorizeCompressionRequest,
  CompressionAuthorization,
  CompressionJob,
  CompressionProfile,
  CompressionSummary,
  CompressionSummaryQuery,
  CompressPromptData,
  CompressPromptRequest,
  OperatorStartCompressionJobRequest,
  SavedCompressionProfile,
  StartCompressionJobRequest,
  StartedCompressionJob,
} from '../compression.ts';
import { text } from '../fields.ts';
import { apiKey, editor, type Operation, operation, organizationParam, viewer } from './operation.ts';

const jobId = text(64).describe('The job');
const invoke = apiKey('compression:invoke');
/** Also accepts session tokens. */
const invokeInBrowser = { ...invoke, clientScope: 'compression:run' } as const;

export const compression = {
  compressPrompt: operation({
    operationId: 'compressPrompt',
    summary: "Record what compressing a call's prompt saved: counts, and no content",
    method: 'POST',
    path: '/compress_prompt',
    security: invokeInBrowser,
    isFree: true,
    body: CompressPromptRequest,
    code: 'PROMPT_COMPRESSION_RECORDED',
    data: CompressPromptData,
  }),
  authorizeCompression: operation({
    operationId: 'authorizeCompression',
    summary: 'Ask whether a customer may be charged for compression',
    method: 'POST',
    path: '/v1/compression/authorize',
    security: invokeInBrowser,
    isFree: true,
    body: AuthorizeCompressionRequest,
    code: 'COMPRESSION_AUTHORIZED',
    data: CompressionAuthorization,
  }),
  readCompressionProfile: operation({
    operationId: 'readCompressionProfile',
    summary: "Read the organization's compression profile",
    method: 'GET',
    path: '/v1/compression/profile',
    security: invokeInBrowser,
    isFree: true,
    code: 'COMPRESSION_PROFILE_READ',
    data: SavedCompressionProfile,
  }),
  saveCompressionProfile: operation({
    operationId: 'saveCompressionProfile',
    summary: "Replace the organization's compression profile",
    method: 'PUT',
    path: '/v1/compression/profile',
    security: invoke,
    isChange: true,
    body: CompressionProfile,
    code: 'COMPRESSION_PROFILE_SAVED',
    data: SavedCompressionProfile,
  }),
  readCompressionSummary: operation({
    operationId: 'readCompressionSummary',
    summary: 'Read the savings of compression over a period, by feature and technique',
    method: 'GET',
    path: '/v1/compression/summary',
    security: invoke,
    query: CompressionSummaryQuery,
    code: 'COMPRESSION_SUMMARY_READ',
    data: CompressionSummary,
  }),
  startCompressionJob: operation({
    operationId: 'startCompressionJob',
    summary: 'Estimate, in the background, what a profile would have saved on stored samples',
    method: 'POST',
    path: '/v1/compression/jobs',
    security: invoke,
    isChange: true,
    body: StartCompressionJobRequest,
    code: 'COMPRESSION_JOB_STARTED',
    data: StartedCompressionJob,
  }),
  readCompressionJob: operation({
    operationId: 'readCompressionJob',
    summary: 'Read the progress of an estimate, and its result',
    method: 'GET',
    path: '/v1/compression/jobs/{jobId}',
    security: invoke,
    params: z.object({ jobId }),
    code: 'COMPRESSION_JOB_READ',
    data: CompressionJob,
  }),
} as const satisfies Record<string, Operation>;

export const operatorCompression = {
  readOrganizationCompressionProfile: operation({
    operationId: 'readOrganizationCompressionProfile',
    summary: 'Read how the applications of an organization compress prompts by default',
    method: 'GET',
    path: '/operator/organizations/{org}/compression/profile',
    security: viewer,
    params: organizationParam,
    code: 'COMPRESSION_PROFILE_READ',
    data: SavedCompressionProfile,
  }),
  operatorSaveCompressionProfile: operation({
    operationId: 'operatorSaveCompressionProfile',
    summary: "Replace an organization's compression profile",
    method: 'PUT',
    path: '/operator/organizations/{org}/compression/profile',
    security: editor,
    params: organizationParam,
    body: CompressionProfile,
    code: 'COMPRESSION_PROFILE_SAVED',
    data: SavedCompressionProfile,
  }),
  readOrganizationCompressionSummary: operation({
    operationId: 'readOrganizationCompressionSummary',
    summary: 'Read what compression saved an organization over a period, by feature and technique',
    method: 'GET',
    path: '/operator/organizations/{org}/compression/summary',
    security: viewer,
    params: organizationParam,
    query: CompressionSummaryQuery,
    code: 'COMPRESSION_SUMMARY_READ',
    data: CompressionSummary,
  }),
  operatorStartCompressionJob: operation({
    operationId: 'operatorStartCompressionJob',
    summary: "Estimate, in the background, what a profile would have saved on an organization's stored samples",
    method: 'POST',
    path: '/operator/organizations/{org}/compression/jobs',
    security: editor,
    params: organizationParam,
    body: OperatorStartCompressionJobRequest,
    code: 'COMPRESSION_JOB_STARTED',
    data: StartedCompressionJob,
  }),
  readOrganizationCompressionJob: operation({
    operationId: 'readOrganizationCompressionJob',
    summary: "Read how far an organization's estimate is, and what it found",
    method: 'GET',
    path: '/operator/organizations/{org}/compression/jobs/{jobId}',
    security: viewer,
    params: organizationParam.extend({ jobId }),
    code: 'COMPRESSION_JOB_READ',
    data: CompressionJob,
  }),
} as const satisfies Record<string, Operation>;
