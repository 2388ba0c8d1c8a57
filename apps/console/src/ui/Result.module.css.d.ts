declare const styles: {
  readonly icon: string
  readonly result: string
  readonly title: string
}
export default styles
