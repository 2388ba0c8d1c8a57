/** Bucket, prefix and access keys for blobs in an object store. */
export type S3Settings = {
  /** URL without a trailing slash. */
  endpoint: string
  bucket: string
  region: string | undefined
  /** Beginning of all object keys, without leading and trailing slashes. */
  prefix: string | undefined
  /** Whether the bucket is in the path of a URL instead of its host name. */
  forcePathStyle: boolean
  accessKeyId: string
  secretAccessKey: string
}

/** Normalizes slashes in endpoint and prefix, so that different spellings of the same place become equal. */
export function normalS3Settings(settings: S3Settings): S3Settings {
  const prefix = settings.prefix?.split('/').filter(Boolean).join('/')
  return {
    ...settings,
    endpoint: new URL(settings.endpoint).href.replace(/\/+$/, ''),
    prefix: prefix || undefined,
  }
}
