declare const styles: {
  readonly panel: string
  readonly problem: string
  readonly text: string
}
export default styles
