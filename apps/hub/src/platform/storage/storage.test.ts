import { describe } from 'vitest'
import { describeBlobs } from './testing/blob-tests.ts'

describe('blobs in the local folder', () => describeBlobs())
