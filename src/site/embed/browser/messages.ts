/**
 * What the page in the frame and the page around it send each other.
 */
export type FrameMessage = { type: 'callmeter:height'; height: number } | { type: 'callmeter:token-request' };

export interface TokenMessage {
  type: 'callmeter:token';
  token: string;
}
