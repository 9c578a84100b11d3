/**
 * Calls on a connection that was closed: refused as a failed call. gRPC throws instead, and since the SDK tries again
 * from a timer nobody could catch that: an endpoint that let go of a Temporal which had gone away ended with it.
 */

import type { ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;

/** gRPC's CANCELLED, which is not tried again. */
const CANCELLED = 1;

/** To stand behind the interceptor that tries again. */
export const refuseOnceClosed: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as Call;
  } catch (error) {
    return refusedCall(error instanceof Error ? error.message : String(error));
  }
};

function refusedCall(details: string): Call {
  return {
    start(metadata: Parameters<Call['start']>[0], listener: Parameters<Call['start']>[1]) {
      queueMicrotask(() => {
        listener?.onReceiveMessage?.(null);
        listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata });
      });
    },
    sendMessageWithContext: () => {},
    sendMessage: () => {},
    startRead: () => {},
    halfClose: () => {},
    cancelWithStatus: () => {},
    getPeer: () => 'closed',
    getAuthContext: () => null,
    // Only private fields of gRPC's class are missing, which only gRPC itself reads.
  } as unknown as Call;
}
