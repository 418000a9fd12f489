import { Chat, useChat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, type UIMessage } from 'ai';
import { type ReactNode, useState } from 'react';

/** Creates a chat that resumes its answer when the page is loaded, and when the response breaks off. */
export function createChat(id: string, messages: UIMessage[]): Chat<UIMessage> {
  const chat: Chat<UIMessage> = new Chat({
    id,
    messages,
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    onError: (error) => {
      // The network failed, the server stopped, or the model is asked again. Errors of the run have another class.
      if (error instanceof TypeError) setTimeout(() => void chat.resumeStream(), 500);
    },
  });
  return chat;
}

/** Page of a chat. */
export function ChatPage({ chat }: { readonly chat: Chat<UIMessage> }): ReactNode {
  const { messages, sendMessage, status } = useChat({ chat, resume: true });
  const [text, setText] = useState('');
  const post = (path: string, body: object): void =>
    void fetch(`/api/chat/${chat.id}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const partOf = (part: UIMessage['parts'][number]): ReactNode => {
    if (part.type === 'text') return part.text;
    if (!isToolUIPart(part)) return null;
    const name = part.type === 'dynamic-tool' ? part.toolName : part.type;
    if (part.state !== 'approval-requested') return `[${name}: ${part.state}] `;
    const { id: approvalId } = part.approval;
    return (
      <>
        {`[${name}: ${part.state}] `}
        <button type="button" onClick={() => post('decision', { approvalId, approved: true })}>
          Approve
        </button>
        <button type="button" onClick={() => post('decision', { approvalId, approved: false })}>
          Refuse
        </button>
      </>
    );
  };
  const shown = messages.map((message) => (
    <li key={message.id}>{message.parts.map((part, index) => [<span key={`${index}`}>{partOf(part)}</span>])}</li>
  ));
  return (
    <>
      <ol>{shown}</ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input aria-label="Question" value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
        <button type="submit">Send</button>
        <button type="button" onClick={() => post('stop', {})}>
          Stop
        </button>
      </form>
      <p role="status">{status}</p>
    </>
  );
}
