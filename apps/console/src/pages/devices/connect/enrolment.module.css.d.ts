declare const styles: {
  readonly absent: string
  readonly awaited: string
  readonly place: string
  readonly present: string
  readonly steps: string
}
export default styles
