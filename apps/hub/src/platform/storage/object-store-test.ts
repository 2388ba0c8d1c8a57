import { randomUUID } from 'node:crypto'
import { type HandlerOutput, S3_STEPS } from '@muster/actions'
import { AddressRefused } from './guarded-http-client.ts'
import { type S3Bucket, S3Failure } from './s3.ts'
import type { S3Settings } from './s3-settings.ts'

type Tested = HandlerOutput<'repositories_TestS3Config'>

/** Deadline of all steps together, in milliseconds. */
const TEST_MS = 30_000
/** Deadline for removing the object after a failure, in milliseconds. */
const CLEAN_UP_MS = 5_000

/**
 * Tests an object store in the steps of `S3_STEPS`: each is run only if the ones before have passed. The test writes one object with a
 * random name and removes it, even after a failure.
 */
export async function testObjectStore(bucket: S3Bucket, settings: S3Settings): Promise<Tested> {
  const key = [...(settings.prefix ? [settings.prefix] : []), `muster-test-${randomUUID()}`].join('/')
  const signal = AbortSignal.timeout(TEST_MS)
  const bytes = Buffer.from(`Test of a hub, ${key}`)
  const works: (() => Promise<string>)[] = [
    () => bucket.reach(signal),
    () => bucket.signIn(key, signal),
    () => bucket.writeSmall(key, bytes, signal),
    () => bucket.readSmall(key, bytes, signal),
    () => bucket.deleteSmall(key, signal),
  ]
  const steps: Tested['steps'] = []
  for (const [index, step] of S3_STEPS.entries()) {
    const startedMs = performance.now()
    try {
      const detail = await works[index]!()
      steps.push({ step, isPassed: true, detail, durationMs: Math.round(performance.now() - startedMs) })
    } catch (error) {
      // The hub must not connect to this address. The duration is omitted, because it could disclose whether the host name exists in an
      // internal network (docs/goals.md, S16).
      if (error instanceof AddressRefused) {
        steps.push({ step, isPassed: false, detail: error.message })
        return { result: 'Failed', steps }
      }
      if (!(error instanceof S3Failure)) throw error
      const durationMs = Math.round(performance.now() - startedMs)
      steps.push({ step, isPassed: false, detail: sentenceOf(error.message), durationMs })
      // A write whose answer was lost may have stored the object. The test's deadline may have passed, so the removal has its own.
      if (index >= 2) await bucket.deleteSmall(key, AbortSignal.timeout(CLEAN_UP_MS)).catch(() => {})
      return { result: 'Failed', steps, advice: adviceOf(step, error, settings) }
    }
  }
  return { result: 'Passed', steps }
}

function sentenceOf(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1)
}

/** Advice on what to change after a failure. */
function adviceOf(
  step: (typeof S3_STEPS)[number],
  { code, status }: S3Failure,
  settings: S3Settings,
): string {
  const { bucket, prefix, accessKeyId, endpoint } = settings
  const objects = [bucket, ...(prefix ? [prefix] : []), '*'].join('/')
  if (code === 'InvalidAccessKeyId') return `Enter an access key id that ${new URL(endpoint).host} knows.`
  if (code === 'SignatureDoesNotMatch') return `Enter the secret access key that belongs to ${accessKeyId}.`
  if (code === 'RequestTimeTooSkewed') return 'Set the clocks of the store and of the hub.'
  if (code === 'AuthorizationHeaderMalformed' || code === 'PermanentRedirect' || status === 301)
    return `Enter the region of the bucket ${bucket}.`
  if (code === 'NoSuchBucket') return `Create the bucket ${bucket}, or correct its name.`
  if (status === 429 || (status !== undefined && status >= 500))
    return 'Test again later. If the store still does not answer, ask its operator.'
  switch (step) {
    case 'Reach the endpoint':
      return 'Check the host name and the port of the endpoint, and that the store has a certificate of a public authority.'
    case 'Sign in':
      return 'Check the access key id and the secret access key.'
    case 'Write an object':
      return `Give the key s3:PutObject, s3:GetObject and s3:DeleteObject on ${objects}.`
    case 'Read it back':
      return status === 403
        ? `The key may write to this bucket and not read it. Give it s3:GetObject on ${objects}.`
        : 'Use a store that keeps what it is sent.'
    case 'Delete it':
      return `The key may write to this bucket and not delete. Give it s3:DeleteObject on ${objects}.`
  }
}
