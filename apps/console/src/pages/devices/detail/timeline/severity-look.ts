import { Bug, CircleQuestionMark, Info, OctagonAlert, TriangleAlert } from 'lucide-react'
import { lookUp } from '../../../../lib/app/look-up.ts'
import type { IconType } from '../../../../ui/icon.ts'
import type { Severity } from './entry.ts'

/** Icon of a severity, and the tone of its colour; without a tone the icon is grey. */
export type SeverityLook = { icon: IconType; tone: 'info' | 'warn' | 'bad' | 'ok' | undefined }

const LOOKS: Record<Severity, SeverityLook> = {
  Trace: { icon: Bug, tone: undefined },
  Debug: { icon: Bug, tone: undefined },
  Info: { icon: Info, tone: 'info' },
  Warning: { icon: TriangleAlert, tone: 'warn' },
  Error: { icon: OctagonAlert, tone: 'bad' },
  Critical: { icon: OctagonAlert, tone: 'bad' },
}

/** Look of a severity; a question mark for a severity that this console does not know. */
export function severityLook(severity: string): SeverityLook {
  return lookUp(LOOKS, severity, { icon: CircleQuestionMark, tone: undefined })
}
