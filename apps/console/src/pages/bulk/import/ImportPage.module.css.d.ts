declare const styles: {
  readonly body: string
  readonly columns: string
  readonly drop: string
  readonly header: string
  readonly key: string
  readonly send: string
  readonly steps: string
  readonly text: string
  readonly title: string
}
export default styles
