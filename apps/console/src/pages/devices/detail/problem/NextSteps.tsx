import { Link } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { hourAndMinute } from '../../../../lib/app/local-time.ts'
import { VersionLink } from '../../../repositories/shared/VersionLink.tsx'
import shared from '../../next-steps.module.css'
import { SameError } from '../../SameError.tsx'
import type { Problem } from '../problems.ts'
import { hourAround } from '../timeline/time-range.ts'
import { useUpdateVersions } from '../update/update-versions.ts'
import { freeSpaceOf, isAboutSpace } from './free-space.ts'
import styles from './problem.module.css'
import { useDisks } from './use-update-facts.ts'

type Step = {
  label: string
  /** Description of the link's target. */
  why: string
  target: { href: string } | { aroundMs: number }
}

/** Next steps for a problem side by side, at most three, the most useful first. */
export function NextSteps({ deviceId, problem }: { deviceId: string; problem: Problem }) {
  return (
    <ul className={`${shared.steps} ${styles.steps}`} aria-label="Next steps">
      {problem.update ? (
        <UpdateSteps deviceId={deviceId} problem={problem} update={problem.update} />
      ) : (
        stepsOf(problem).map(step => <StepItem key={step.label} step={step} />)
      )}
    </ul>
  )
}

/** Link of a next step: to a part of the page, or to the timeline around a time. */
export function StepLink({ step: { target }, children }: { step: Step; children: ReactNode }) {
  if ('href' in target) return <a href={target.href}>{children}</a>
  return (
    <Link
      from="/org_{$organization}/projects/$projectId/devices/$deviceId"
      to="./timeline"
      search={hourAround(target.aroundMs)}
    >
      {children}
    </Link>
  )
}

/** Step that opens the timeline around the time at which a problem was last reported. */
export function aroundStep({ lastAt }: Problem): Step {
  const aroundMs = Date.parse(lastAt)
  return { label: `Around ${hourAndMinute(aroundMs)}`, why: '', target: { aroundMs } }
}

function StepItem({ step }: { step: Step }) {
  return (
    <li>
      <StepLink step={step}>
        {step.label}
        <ArrowRight className="icon small-icon" aria-hidden />
      </StepLink>
      <p className="help">{step.why}</p>
    </li>
  )
}

type UpdateStepsProps = { deviceId: string; problem: Problem; update: NonNullable<Problem['update']> }

/** Steps of a failed update: other devices with the same error, a section of this page with more facts, and the version or the timeline. */
function UpdateSteps({ deviceId, problem, update: { error, targetVersion } }: UpdateStepsProps) {
  const disks = useDisks(deviceId)
  const reported = useUpdateVersions(deviceId)
  // The problem may be of an update before the reported one.
  const version = targetVersion === reported.targetVersion ? reported.target : undefined
  const low = freeSpaceOf(disks, undefined)[0]
  const more: Step = isAboutSpace(error)
    ? {
        label: 'See the disks',
        why: low
          ? `${low.place} is ${100 - low.freePercent} % full.`
          : 'Sizes and free space that the device reports.',
        target: { href: disks.length > 0 ? '#disks' : '#sys' },
      }
    : { label: 'See its attempts', why: 'How long each ran, and how it failed.', target: { href: '#ota' } }
  return (
    <>
      <SameError deviceId={deviceId} targetVersion={targetVersion} />
      <StepItem step={more} />
      {version && targetVersion !== undefined ? (
        <li>
          <VersionLink {...version}>
            Open {targetVersion.slice(0, LONGEST_LABEL)}
            <ArrowRight className="icon small-icon" aria-hidden />
          </VersionLink>
          <p className="help">Files and tags of the version.</p>
        </li>
      ) : (
        <StepItem step={happened(problem)} />
      )}
    </>
  )
}

/** Longest version in the label of a link, in characters. */
const LONGEST_LABEL = 60

function happened(problem: Problem): Step {
  return { ...aroundStep(problem), label: 'See what happened', why: 'Everything around the last time.' }
}

function stepsOf(problem: Problem): Step[] {
  switch (problem.kind) {
    case 'refused':
      return [
        {
          label: 'Check its certificates',
          why: 'Only a device with an accepted one connects.',
          target: { href: '#certs' },
        },
        {
          label: 'See its connections',
          why: 'When it was connected last, and for how long.',
          target: { href: '#conn' },
        },
      ]
    case 'identity':
      return [
        {
          label: 'See its connections',
          why: 'When each began, and which were taken over.',
          target: { href: '#conn' },
        },
        { ...happened(problem), why: 'Everything around the last takeover.' },
      ]
    case 'certificate':
      return [
        {
          label: 'See its certificates',
          why: 'Revoke the shared one after the device has another.',
          target: { href: '#certs' },
        },
      ]
    case 'expiry':
      return [
        {
          label: 'See its certificates',
          why: 'Which it has, and which of them it announced.',
          target: { href: '#certs' },
        },
        {
          label: 'See the system',
          why: 'Which agent the device runs.',
          target: { href: '#sys' },
        },
      ]
    case 'clock':
      return [
        {
          label: 'See its events',
          why: 'Those with a wrong time say by how much.',
          target: { href: '#ev' },
        },
        {
          label: 'See the system',
          why: 'Versions, memory and disks of this device.',
          target: { href: '#sys' },
        },
      ]
    case 'offline':
      return [
        {
          label: 'See its connections',
          why: 'How long each lasted, and why it ended.',
          target: { href: '#conn' },
        },
        { ...happened(problem), why: 'Everything around the end of its connection.' },
      ]
    default:
      return [
        happened(problem),
        {
          label: 'See what it reported',
          why: 'The latest events of this device.',
          target: { href: '#ev' },
        },
        {
          label: 'See the system',
          why: 'Versions, memory and disks of this device.',
          target: { href: '#sys' },
        },
      ]
  }
}
