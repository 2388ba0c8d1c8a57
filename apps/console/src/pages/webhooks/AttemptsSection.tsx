import { Check, X } from 'lucide-react'
import { useState } from 'react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { counted, formatMs, formatShare } from '../../lib/app/format.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { useToggled } from '../../lib/app/use-toggled.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListFailed } from '../../ui/app/ListPage.tsx'
import { LoadMore } from '../../ui/app/LoadMore.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Segments } from '../../ui/app/Segments.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { FoldButton } from '../../ui/lazy/FoldButton.tsx'
import folding from '../../ui/lazy/folding-rows.module.css'
import { ACTIONS, Cell, type Column, Row, Table, WideRow } from '../../ui/lazy/Table.tsx'
import { ResendDialog } from './ResendDialog.tsx'
import styles from './WebhookPage.module.css'
import { type Attempt, answerWords, isExport, nounOf, type WebhookDetails } from './webhook.ts'

/** Attempts for a message (docs/webhooks.md). */
const MOST_ATTEMPTS = 8

/** Search parameters of the page of a webhook. */
export const attemptsSearch = {
  show: oneOf(['all', 'failed'], 'all'),
  // Id of a message whose attempts alone are shown.
  message: anyText,
}

const COLUMNS: readonly Column[] = [
  { name: 'Time', widthPx: 150 },
  { name: 'Type' },
  { name: 'Answer', widthPx: 190 },
  { name: 'Took', widthPx: 76 },
  { name: 'Attempt', widthPx: 84 },
  { ...ACTIONS, widthPx: 92 },
]

/** Attempts of a webhook to deliver messages, newest first, with the share that the receiver took. */
export function AttemptsSection({ webhook }: { webhook: WebhookDetails }) {
  const { webhookId, attemptCount, successCount, waitingCount } = webhook
  const [{ show, message = '' }, change] = usePageSearch(attemptsSearch)
  const [open, toggle] = useToggled()
  const [isResending, setResending] = useState(false)
  const list = useActionPages('webhooks_QueryAttempts', {
    webhookId,
    limit: 50,
    ...((show === 'failed' || message) && {
      filter: { ...(show === 'failed' && { isSuccess: false }), ...(message && { messageId: message }) },
    }),
  })
  const attempts = list.data?.pages.flatMap(page => page.attempts)
  const isFiltered = show === 'failed' || message !== ''
  return (
    <Section
      title="Deliveries"
      padded={false}
      aside={
        <>
          <span className="grow" />
          <Button size="sm" onClick={() => setResending(true)}>
            Replay failed…
          </Button>
        </>
      }
    >
      <p className={`inset ${styles.share}`}>
        {attemptCount > 0 && <span className="figure">{formatShare(successCount / attemptCount)}</span>}
        <span className="help">
          {attemptCount === 0
            ? 'No attempt in 24 h'
            : `answered with 2xx in 24 h, of ${counted(attemptCount, 'attempt')}`}
          {waitingCount > 0 &&
            ` · ${counted(waitingCount, nounOf(webhook))} ${waitingCount === 1 ? 'waits' : 'wait'}`}
        </span>
      </p>
      <div className="tools">
        <Segments
          label="Attempts"
          value={show}
          options={[
            { value: 'all', label: 'All' },
            { value: 'failed', label: 'Failed', mark: 'error' },
          ]}
          onChange={value => change({ show: value })}
        />
        {message && (
          <span className="row">
            <span className="help">
              Attempts of <span className="mono break-anywhere">{message}</span>
            </span>
            <Button size="sm" variant="ghost" onClick={() => change({ message: '' })}>
              Show all messages
            </Button>
          </span>
        )}
      </div>
      <div className={`${folding.rows} ${styles.attempts}`}>
        <ErrorAlert
          title="Could not load attempts."
          error={list.error}
          action={
            <Button size="sm" onClick={() => void list.refetch()}>
              Try again
            </Button>
          }
        />
        <ListFailed value={list.error !== null && !list.data}>
          <Table
            bare
            dense
            caption="Attempts, newest first"
            columns={COLUMNS}
            bars={4}
            rows={attempts?.flatMap(attempt => {
              const key = `${attempt.messageId} ${attempt.attempt}`
              return [
                <AttemptRow
                  key={key}
                  webhook={webhook}
                  attempt={attempt}
                  isOpen={open.has(key)}
                  onOpen={() => toggle(key)}
                />,
                open.has(key) && (
                  <WideRow key={`details of ${key}`} detail>
                    <AttemptDetail
                      webhook={webhook}
                      attempt={attempt}
                      onMessage={id => change({ message: id, show: 'all' })}
                    />
                  </WideRow>
                ),
              ]
            })}
            none={
              <span className="muted">
                {isFiltered
                  ? 'No attempt matches.'
                  : 'No message was sent yet. Attempts are kept for 30 days.'}
              </span>
            }
          />
        </ListFailed>
        {list.hasNextPage && (
          <LoadMore
            shown={attempts?.length ?? 0}
            total={list.data?.pages[0]?.total}
            what="attempts"
            busy={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          />
        )}
      </div>
      {isResending && <ResendDialog webhook={webhook} onClose={() => setResending(false)} />}
    </Section>
  )
}

type AttemptRowProps = { webhook: WebhookDetails; attempt: Attempt; isOpen: boolean; onOpen: () => void }

function AttemptRow({ webhook, attempt, isOpen, onOpen }: AttemptRowProps) {
  const { messageId, type, isSuccess, tookMs, attemptedAt, attempt: number } = attempt
  const Icon = isSuccess ? Check : X
  const isNarrow = useIsNarrow()
  return (
    <Row>
      <Cell>
        <span className={folding.line}>
          <FoldButton
            label={`Details of ${messageId}, attempt ${number}`}
            isOpen={isOpen}
            onChange={onOpen}
          />
          <Time at={attemptedAt} />
        </span>
      </Cell>
      <Cell>
        <span className="mono break-anywhere">{type}</span>
      </Cell>
      <Cell>
        <span className={styles.answer} data-tone={isSuccess ? 'ok' : 'bad'}>
          <Icon className="icon small-icon" aria-hidden />
          <span className="break-anywhere">{answerWords(attempt)}</span>
        </span>
      </Cell>
      <Cell>
        <span className="tabular">{formatMs(tookMs)}</span>
      </Cell>
      <Cell>
        <span className="tabular">
          {number} of {Math.max(number, MOST_ATTEMPTS)}
        </span>
      </Cell>
      <Cell>{!isNarrow && <ReplayButton webhook={webhook} attempt={attempt} />}</Cell>
    </Row>
  )
}

type ReplayButtonProps = { webhook: WebhookDetails; attempt: Attempt }

/**
 * Sends the message of an attempt once more. On phones it is among the details of the attempt. A batch that a collector has taken cannot be
 * sent again, because the hub forgets which events it had.
 */
function ReplayButton({ webhook, attempt: { messageId, type, isSuccess } }: ReplayButtonProps) {
  const { webhookId } = webhook
  const resend = useCommand('webhooks_ResendMessage', {
    invalidates: ['webhooks_QueryAttempts', 'webhooks_GetDetails'],
  })
  if (isExport(webhook) && isSuccess) return null
  return (
    <Button
      size="sm"
      variant="ghost"
      busy={resend.isPending}
      busyLabel="Sending…"
      aria-label={`Replay ${messageId}`}
      onClick={() =>
        resend.mutate(
          { webhookId, messageId },
          {
            onSuccess: () => toast(`${type} is sent again.`),
            onError: error => toastError('Could not send the message again', error),
          },
        )
      }
    >
      Replay
    </Button>
  )
}

type AttemptDetailProps = {
  webhook: WebhookDetails
  attempt: Attempt
  onMessage: (messageId: string) => void
}

/** Unfolded details of an attempt: the message, and the beginning of the answer. */
function AttemptDetail({ webhook, attempt, onMessage }: AttemptDetailProps) {
  const { messageId, answer, error, tookMs } = attempt
  const isNarrow = useIsNarrow()
  return (
    <div className={styles.detail}>
      <div className="row wrap">
        <Id id={messageId} what="message id" />
        <Button size="sm" variant="ghost" onClick={() => onMessage(messageId)}>
          All attempts of this message
        </Button>
        {isNarrow && <ReplayButton webhook={webhook} attempt={attempt} />}
      </div>
      <p className="help">
        {error === undefined
          ? `Answered after ${formatMs(tookMs)}. At most the first 256 bytes are kept.`
          : `Ended after ${formatMs(tookMs)} without an answer.`}
      </p>
      <pre className="code">
        <code>
          {answerWords(attempt)}
          {answer && `\n\n${answer}`}
        </code>
      </pre>
    </div>
  )
}
