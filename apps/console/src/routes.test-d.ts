// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import { linkOptions } from '@tanstack/react-router'
import type {} from './routes.tsx'

/** A link names search parameters of its page, with their words. */
const failedJobs = linkOptions({ to: '/admin/jobs', search: { status: 'Failed', type: 'audit_SealRows' } })

// @ts-expect-error the page has no such status
const unknownWord = linkOptions({ to: '/admin/jobs', search: { status: 'Gone' } })
// @ts-expect-error the page has no such search parameter
const unknownName = linkOptions({ to: '/admin/jobs', search: { state: 'Failed' } })

export { failedJobs, unknownName, unknownWord }
