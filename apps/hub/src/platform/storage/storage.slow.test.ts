import { hasS3Server, s3Server } from '@muster/testkit'
import { describe } from 'vitest'
import { describeBlobs } from './testing/blob-tests.ts'

// Needs OpenStack Swift from Debian packages, which only root can install. Skipped where Swift is not installed.
describe.runIf(hasS3Server())('blobs in an S3 server', () => describeBlobs(s3Server))
