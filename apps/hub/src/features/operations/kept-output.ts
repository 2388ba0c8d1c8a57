import { ActionError } from '@muster/actions'

/** What a device reports for a step, as JSON texts. */
type Reported = { output: string | undefined; checkpoint: string | undefined }

/**
 * What is kept of a report. An output that is too large is left out with a note: the step is done, and the device cannot make its output
 * smaller. Throws `Invalid` for a checkpoint that is too large, because the device is still at work.
 */
export function keptOutput(
  { output, checkpoint }: Reported,
  maxBytes: number,
): { output?: string; checkpoint?: string; note?: string } {
  const checkpointBytes = checkpoint === undefined ? 0 : Buffer.byteLength(checkpoint)
  if (checkpointBytes > maxBytes)
    throw new ActionError(
      'Invalid',
      `report.checkpoint: found ${checkpointBytes} bytes, expected at most ${maxBytes}.`,
    )
  const kept = checkpoint === undefined ? {} : { checkpoint }
  if (output === undefined) return kept
  const outputBytes = Buffer.byteLength(output)
  return outputBytes <= maxBytes
    ? { ...kept, output }
    : { ...kept, note: `The output of ${outputBytes} bytes was not kept: at most ${maxBytes} are stored.` }
}
