declare const styles: {
  readonly back: string
  readonly body: string
  readonly count: string
  readonly entity: string
  readonly side: string
}
export default styles
