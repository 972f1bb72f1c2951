<%@ page session="false" trimDirectiveWhitespaces="true" contentType="text/plain; charset=UTF-8" %><%--
  Answers every path with its context and the address of the client.
--%>reached <%= application.getContextPath() %> from <%= request.getRemoteAddr() %>
