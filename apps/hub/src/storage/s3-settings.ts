/** Where blobs go in an object store, and the keys to it. */
export type S3Settings = {
  /** Without a slash at its end. */
  endpoint: string
  bucket: string
  region: string | undefined
  /** Without slashes at its ends; what the names of all objects begin with. */
  prefix: string | undefined
  /** Whether the bucket is in the path and not in the host name. */
  forcePathStyle: boolean
  accessKeyId: string
  secretAccessKey: string
}

/** The same place in one form, whatever slashes were written. */
export function normalS3Settings(settings: S3Settings): S3Settings {
  const prefix = settings.prefix?.split('/').filter(Boolean).join('/')
  return {
    ...settings,
    endpoint: new URL(settings.endpoint).href.replace(/\/+$/, ''),
    prefix: prefix || undefined,
  }
}
