import { ActionError } from '@muster/actions'
import { WrongBytes } from './digest.ts'
import { AddressRefused } from './guarded-http-client.ts'
import { S3Failure } from './s3.ts'
import { UploadCut } from './upload-stream.ts'

/** Converts known storage errors into an `ActionError` for the caller. Returns other errors unchanged. */
export function asActionError(error: unknown): unknown {
  if (error instanceof WrongBytes) return new ActionError('Invalid', error.message, { cause: error })
  if (error instanceof S3Failure) return error.asActionError()
  if (error instanceof AddressRefused)
    return new ActionError('Internal', error.message, { status: 502, cause: error })
  if (error instanceof UploadCut) return new ActionError('Invalid', error.message, { cause: error })
  return error
}
