declare const styles: {
  readonly columns: string
  readonly metadata: string
  readonly overview: string
  readonly problem: string
  readonly rail: string
  readonly rest: string
}
export default styles
